struct DeadlinePassed: Error, CustomStringConvertible {
    let description: String
}

/// Looks until the condition holds. The limit is generous and only ends a test that would hang: how long it took is
/// nobody's business.
func eventually(
    _ what: String, within limit: Duration = .seconds(60), _ condition: () async throws -> Bool
) async throws {
    let deadline = ContinuousClock.now + limit
    while try await !condition() {
        guard ContinuousClock.now < deadline else { throw DeadlinePassed(description: "never came true: \(what)") }
        try await Task.sleep(for: .milliseconds(20))
    }
}

/// How long a fault lasts: the passing of time is the test's input here, not a way to wait for something.
func last(_ duration: Duration) async throws {
    try await Task.sleep(for: duration)
}
