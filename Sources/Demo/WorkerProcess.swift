import EmbeddedPostgres
import Foundation
import Kafka

/// A worker in its own process, which runs this program with the command `run`.
final class WorkerProcess: Sendable {
    private let process: ChildProcess
    let logFile: URL

    /// - Parameters:
    ///   - program: the path of `receiptd`.
    ///   - command: `run`, or another command that runs until a signal.
    ///   - environment: the whole environment of the process.
    ///   - logFile: the file to which the process appends its standard error.
    init(program: String, command: String = "run", environment: [String: String], logFile: URL) throws {
        self.logFile = logFile
        var start = ChildProcess.Start([program, command], log: logFile.path)
        start.environment = environment
        start.folder = nil
        start.output = .discarded
        start.endsWithUs = true
        process = try ChildProcess(start)
    }

    var processID: Int32 { process.processID }
    var isRunning: Bool { process.isRunning }

    func kill() { process.send(SIGKILL) }
    func terminate() { process.send(SIGTERM) }
    func send(_ signal: Int32) { process.send(signal) }

    /// Sends the process a signal to end, and kills it after ten seconds. The function runs to its end even if the task
    /// is cancelled.
    func stop() async {
        terminate()
        let stopping = Task.detached { [self] in
            for _ in 0..<Self.stopPolls where isRunning { try? await Task.sleep(for: .milliseconds(20)) }
            kill()
            _ = try? await blocking { [self] in wait() }
        }
        await stopping.value
    }

    /// The number of polls, 20 ms apart, before `stop` kills the process.
    private static let stopPolls = 500

    /// Blocks the thread until the process has ended. Returns the exit code, or the negative number of the signal.
    func wait() -> Int32 { process.wait() }
}
