/// Work on a suspect: a record or a row that may have ended processes before. A death of this process counts against
/// the suspect only while the work computes (parses, proves, judges or settles). The work calls `waits` before it waits
/// for PostgreSQL, Kafka or Apple.
public protocol SuspectedWork: Sendable {
    /// Stores the accusation against the suspect, because the work computes from now on. The accusation makes a death
    /// count against the suspect. Returns once the accusation is stored, or once the task is cancelled.
    func works() async
    /// Withdraws the accusation against the suspect, because the work only waits from now on. Returns once the
    /// accusation is withdrawn, or once the task is cancelled.
    func waits() async
}

public enum Suspected {
    /// The task's work on a suspect; nil if the task does not work on a suspect. A task with a suspect sends one
    /// request at a time, so that it never computes while it waits.
    @TaskLocal public static var work: (any SuspectedWork)?

    /// Runs `body`, which only waits, for example for PostgreSQL or Kafka. A death during `body` does not count against
    /// the suspect.
    public static func waiting<Value, Failure: Error>(
        _ body: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        guard let work else { return try await body() }
        await work.waits()
        let result: Result<Value, Failure>
        do throws(Failure) { result = .success(try await body()) } catch { result = .failure(error) }
        await work.works()
        return try result.get()
    }

    /// Runs `body`, which waits for Kafka's acknowledgement of an answer. A death during or after `body` does not count
    /// against the suspect, because the answer ends the work on the suspect.
    public static func answering<Value, Failure: Error>(
        _ body: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        await work?.waits()
        return try await body()
    }
}
