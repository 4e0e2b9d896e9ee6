"""What a fit returns and what follows from it: models, statements, reports, exports."""
