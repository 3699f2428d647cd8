/// Runs a report to PostgreSQL that a process makes at its end.
enum LastReport {
    private static let seconds = 1.0

    /// Runs the report, and cancels it after a second.
    static func run(_ report: @escaping @Sendable () async -> Void) async {
        await withTaskGroup(of: Void.self) { tasks in
            tasks.addTask(operation: report)
            tasks.addTask { try? await Task.sleep(for: .seconds(seconds)) }
            await tasks.next()
            tasks.cancelAll()
        }
    }
}
