import EmbeddedPostgres
import Foundation

/// A program that a test ran to its end.
public struct EndedProgram: Sendable {
    /// The exit code, or the negative number of the signal that ended the program.
    public let code: Int32
    public let output: String
    public let errors: String

    /// Runs a program to its end, and blocks the thread meanwhile. Throws if the program cannot start, or if its output
    /// is not UTF-8.
    /// - Parameters:
    ///   - command: the program's path and arguments.
    ///   - environment: the program's whole environment; nil for PATH and LC_ALL.
    ///   - input: the text of standard input.
    public static func run(
        _ command: [String], environment: [String: String]? = nil, input: String = ""
    ) throws -> EndedProgram {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("program-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        // The program reads and writes files, because a full pipe would block it.
        let file = { folder.appendingPathComponent($0) }
        let (given, output, errors) = (file("in"), file("out"), file("err"))
        try Data(input.utf8).write(to: given)
        var start = ChildProcess.Start(command, log: errors.path)
        if let environment { start.environment = environment }
        start.folder = nil
        start.input = given.path
        start.output = .file(output.path)
        start.endsWithUs = true
        let code = try ChildProcess(start).wait()
        return EndedProgram(
            code: code, output: try String(contentsOf: output, encoding: .utf8),
            errors: try String(contentsOf: errors, encoding: .utf8))
    }
}
