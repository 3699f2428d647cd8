/// Makes a fault last: the passing of time is the test's input here, not a way to wait for something.
func last(_ duration: Duration) async throws {
    try await Task.sleep(for: duration)
}
