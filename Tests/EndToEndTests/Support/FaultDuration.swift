/// Makes a fault last. The elapsed time is the test's input here.
func last(_ duration: Duration) async throws {
    try await Task.sleep(for: duration)
}
