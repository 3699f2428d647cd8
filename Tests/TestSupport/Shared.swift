import Synchronization

/// A value that many tasks write, such as the state of a double. Each write wakes the waiting tests.
public final class Shared<Value: Sendable>: Sendable {
    private let state: Mutex<Value>
    private let changes: ChangeSignal

    /// - Parameter changes: the signal that the test's doubles share; by default a new one.
    public init(_ value: Value, _ changes: ChangeSignal = ChangeSignal()) {
        state = Mutex(value)
        self.changes = changes
    }

    public var value: Value { state.withLock { $0 } }

    public func read<Result: Sendable>(_ look: (Value) -> Result) -> Result { state.withLock { look($0) } }

    /// Changes the value, and raises the signal even if the value stays equal.
    @discardableResult
    public func update<Result: Sendable, Failure: Error>(
        _ change: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try state.withLock { value throws(Failure) in
            defer { changes.raise() }
            return try change(&value)
        }
    }

    /// Returns once `isAsWanted` is true for the value. Throws `DeadlinePassed` after the limit.
    public func until(
        _ what: @autoclosure () -> String, within limit: Duration = .seconds(60), file: StaticString = #fileID,
        line: UInt = #line, _ isAsWanted: (Value) throws -> Bool
    ) async throws {
        try await changes.until(what(), within: limit, file: file, line: line) { try isAsWanted(value) }
    }
}
