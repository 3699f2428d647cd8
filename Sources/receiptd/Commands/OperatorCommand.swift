import Administration
import ArgumentParser
import Foundation
import Kafka
import Operations
import OperationsHTTP
import Postgres
import ReceiptdConfiguration

/// A command that reads the settings and then runs. `reporting` turns its error into a message and an exit code.
protocol OperatorCommand: AsyncParsableCommand {
    /// The settings that the command needs.
    static var requirements: Set<Settings.Requirement> { get }
    /// The kinds of warnings about settings that the command prints to standard error.
    static var told: Set<SettingsWarning.Kind> { get }
    var options: SettingsOptions { get }

    func run(_ settings: Settings) async throws
}

extension OperatorCommand {
    static var told: Set<SettingsWarning.Kind> { [.name] }

    func run() async throws {
        try await reporting {
            try await run(try options.read(requiring: Self.requirements, telling: Self.told))
        }
    }
}

/// A command that uses a database with the current schema.
protocol DatabaseCommand: OperatorCommand {
    /// The most PostgreSQL sessions of the command at the same time.
    static var sessions: Int { get }

    func run(_ settings: Settings, in pool: PostgresPool) async throws
}

extension DatabaseCommand {
    static var requirements: Set<Settings.Requirement> { [.database] }
    static var sessions: Int { 1 }

    func run(_ settings: Settings) async throws {
        try await withSchema(settings.database, sessions: Self.sessions) { pool in try await run(settings, in: pool) }
    }
}

/// Runs `body`, and turns its error into a message and an exit code.
func reporting(_ body: () async throws -> Void) async throws {
    do {
        try await body()
    } catch let code as ExitCode {
        throw code
    } catch {
        let failure = CommandFailure(reporting: error)
        printError(failure.message)
        throw ExitCode(failure.code)
    }
}

extension CommandFailure {
    fileprivate init(reporting error: any Error) {
        switch error {
        case let failure as CommandFailure: self = failure
        case let faults as SettingsFaults: self.init(faults.description, code: SettingsFaults.exitCode)
        case let error as OperationsServerError:
            // A taken port may become free later. For any other cause, an operator has to change something.
            self.init(error.description, code: error.isPortTaken ? Self.unavailable : Self.wrongSettings)
        case let error as KafkaError: self.init(uncaught: error)
        default: self.init("\(error)", code: 1)
        }
    }
}

func printError(_ text: String) {
    FileHandle.standardError.write(Data((text + "\n").utf8))
}
