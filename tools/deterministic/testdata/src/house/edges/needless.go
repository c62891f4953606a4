package edges

func fine() { fine() }
