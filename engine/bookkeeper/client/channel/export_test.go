package channel

// Sweeps is how often the sweep has looked through all calls.
func (c *Channel) Sweeps() int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.sweeps
}
