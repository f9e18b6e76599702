package defect

// Compiled says whether the planted bugs are part of this program. The overlay replaces this file.
const Compiled = false

func fromEnvironment() string { return "" }
