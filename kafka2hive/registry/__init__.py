"""Writers' schemas by id: from the memory of the process, from the map's storage or from the schema registry."""
