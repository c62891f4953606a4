package edges

func fine() {}
