import EmbeddedPostgres
import Foundation
import Kafka
import TestSupport

@testable import Demo

/// Runs the `receiptd` program that was built with the tests, as an operator does.
enum Program {
    static func path() throws -> String {
        // Tests that measure memory set this variable to a release build.
        if let given = ProcessInfo.processInfo.environment["CHAOS_PROGRAM"] { return given }
        let own = URL(fileURLWithPath: try DemoRun.ownPath())
        return own.deletingLastPathComponent().appendingPathComponent("receiptd").path
    }

    static func run(
        _ arguments: [String], environment: [String: String] = [:], input: String = ""
    ) async throws -> EndedProgram {
        let command = [try path()] + arguments
        return try await blocking { try EndedProgram.run(command, environment: environment, input: input) }
    }

    /// Runs a command that does not end by itself. Ends the command once `isEnough` is true of the output, and returns
    /// the output.
    static func follow(
        _ arguments: [String], environment: [String: String], until isEnough: @escaping @Sendable (String) -> Bool
    ) async throws -> String {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("receiptd-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        var start = ChildProcess.Start([try path()] + arguments, log: "/dev/null")
        start.environment = environment
        start.folder = nil
        start.output = .file(file.path)
        start.endsWithUs = true
        let process = try await blocking { [start] in try ChildProcess(start) }
        defer { process.send(SIGTERM) }
        var text = ""
        try await eventually("\(arguments) prints what is wanted") {
            text = try String(contentsOf: file, encoding: .utf8)
            return isEnough(text)
        }
        return text
    }
}
