// A button on every block of code that copies it, without the prompts of a console.
document.addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll("div.highlight").forEach((block) => {
    const code = block.querySelector("pre");
    const language = block.parentElement.className;
    if (!code || /highlight-(text|default|none)/.test(language)) return;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy-button";
    button.textContent = "copy";
    button.setAttribute("aria-label", "copy this code");
    button.addEventListener("click", async () => {
      const text = /highlight-console/.test(language)
        ? code.textContent.split("\n").filter((line) => line.startsWith("$ ")).map((line) => line.slice(2)).join("\n")
        : code.textContent;
      await navigator.clipboard.writeText(text.trimEnd());
      button.textContent = "copied";
      setTimeout(() => (button.textContent = "copy"), 1500);
    });
    block.appendChild(button);
  });
});
