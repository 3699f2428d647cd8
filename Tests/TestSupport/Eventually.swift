/// The error of a wait for a condition that was not true before the limit.
public struct DeadlinePassed: Error, CustomStringConvertible {
    public let description: String

    public init(description: String) {
        self.description = description
    }
}

/// Polls until the condition is true. Throws `DeadlinePassed` after the limit, which only ends a test that would wait
/// forever. Tests poll for effects in another process, a database or a client, which raise no signal. For doubles they
/// use `ChangeSignal`.
public func eventually(
    _ what: String = "the condition", within limit: Duration = .seconds(60),
    every interval: Duration = .milliseconds(10),
    file: StaticString = #fileID, line: UInt = #line, _ condition: () async throws -> Bool
) async throws {
    let deadline = ContinuousClock.now + limit
    while try await !condition() {
        guard ContinuousClock.now < deadline else {
            throw DeadlinePassed(description: "never came true: \(what) (\(file):\(line))")
        }
        try await Task.sleep(for: interval)
    }
}
