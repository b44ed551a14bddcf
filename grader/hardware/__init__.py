"""Device profiles: datasheet rates, physical ceilings, measured ceilings."""
