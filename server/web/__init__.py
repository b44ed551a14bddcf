"""Pages of the site: templates, static files, languages, charts."""
