"""What operators watch: numbers of the database and of the broker, in the text form that Prometheus reads."""
