import Foundation
import Kafka
import TestSupport

@testable import Demo

/// Runs the `receiptd` program that was built with the tests, as an operator does.
enum Program {
    struct Ending: Sendable {
        /// The exit code, or the negative number of the signal that ended the program.
        let code: Int32
        let output: String
        let errors: String
    }

    static func path() throws -> String {
        // Tests that measure memory set this variable to a release build.
        if let given = ProcessInfo.processInfo.environment["CHAOS_PROGRAM"] { return given }
        let own = URL(fileURLWithPath: try DemoRun.ownPath())
        return own.deletingLastPathComponent().appendingPathComponent("receiptd").path
    }

    static func run(
        _ arguments: [String], environment: [String: String] = [:], input: String? = nil
    ) async throws -> Ending {
        let program = try path()
        return try await blocking {
            let directory = FileManager.default.temporaryDirectory.appendingPathComponent(
                "receiptd-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: directory) }
            // The program writes to files, because a full pipe would block it.
            let files = ["in", "out", "err"].map { directory.appendingPathComponent($0) }
            try Data((input ?? "").utf8).write(to: files[0])
            for file in files[1...] { try Data().write(to: file) }
            let process = Process()
            process.executableURL = URL(fileURLWithPath: program)
            process.arguments = arguments
            process.environment = environment
            process.standardInput = try FileHandle(forReadingFrom: files[0])
            process.standardOutput = try FileHandle(forWritingTo: files[1])
            process.standardError = try FileHandle(forWritingTo: files[2])
            try process.run()
            process.waitUntilExit()
            let isExit = process.terminationReason == .exit
            return Ending(
                code: isExit ? process.terminationStatus : -process.terminationStatus,
                output: try String(contentsOf: files[1], encoding: .utf8),
                errors: try String(contentsOf: files[2], encoding: .utf8))
        }
    }

    /// Runs a command that does not end by itself. Ends the command once `isEnough` is true of the output, and returns
    /// the output.
    static func follow(
        _ arguments: [String], environment: [String: String], until isEnough: @escaping @Sendable (String) -> Bool
    ) async throws -> String {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("receiptd-\(UUID().uuidString)")
        try Data().write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: try path())
        process.arguments = arguments
        process.environment = environment
        process.standardOutput = try FileHandle(forWritingTo: file)
        try process.run()
        defer { process.terminate() }
        var text = ""
        try await eventually("\(arguments) prints what is wanted") {
            text = try String(contentsOf: file, encoding: .utf8)
            return isEnough(text)
        }
        return text
    }
}
