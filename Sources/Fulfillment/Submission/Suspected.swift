/// Work on something that may have killed processes before. A death of this process counts against it only while it
/// computes: parses, proves, judges or settles. A task that waits for an answer says so first.
public protocol SuspectedWork: Sendable {
    /// Notes that the record computes from now on. Returns once the next process would count a death against it, or
    /// once its task is cancelled.
    func works() async
    /// Notes that the record only waits from now on. Returns once the next process would not count a death, or once its
    /// task is cancelled.
    func waits() async
}

public enum Suspected {
    /// The suspect that this task works on; nil in nearly every task. A suspect's task waits for one answer at a time.
    @TaskLocal public static var work: (any SuspectedWork)?

    /// Runs work that only waits, as for PostgreSQL or Kafka.
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
