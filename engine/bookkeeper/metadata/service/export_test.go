package service

// Unsettled is how many keys the server is yet to be told of.
func (c *Client) Unsettled() int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.link == nil {
		return 0
	}
	return len(c.link.unsettled)
}
