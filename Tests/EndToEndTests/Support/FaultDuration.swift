/// Waits while a fault lasts. Here the elapsed time itself is part of the test.
func last(_ duration: Duration) async throws {
    try await Task.sleep(for: duration)
}
