/// Thrown where what was waited for never came.
public struct DeadlinePassed: Error, CustomStringConvertible {
    public let description: String

    public init(description: String) {
        self.description = description
    }
}

/// Looks until the condition holds: for what another process, a database or a client brings about and nobody signals.
/// Tests await the calls of a double (`ChangeSignal`). The limit is generous and only ends a test that would hang: how
/// long it took is nobody's business.
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
