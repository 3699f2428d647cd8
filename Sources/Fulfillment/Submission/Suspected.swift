/// Work on a record or a row that may have killed processes before. A death of this process counts against it only
/// while the work computes: it parses, proves, judges or settles. The work calls `waits` before it waits for an answer.
public protocol SuspectedWork: Sendable {
    /// Notes that the work computes from now on. Returns once the next process would count a death against the record
    /// or row, or once the task is cancelled.
    func works() async
    /// Notes that the work only waits from now on. Returns once the next process would not count a death, or once the
    /// task is cancelled.
    func waits() async
}

public enum Suspected {
    /// The task's work on a suspect: a record or row that may have killed processes. Nil if the task works on no
    /// suspect. A suspect's task waits for one answer at a time.
    @TaskLocal public static var work: (any SuspectedWork)?

    /// Runs `body`, which only waits, as for PostgreSQL or Kafka. A death meanwhile does not count against the suspect.
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
}
