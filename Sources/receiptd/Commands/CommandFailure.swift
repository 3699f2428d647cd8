import ArgumentParser
import Foundation
import Operations

/// How a command ends other than well: what it says on standard error, and its exit code.
struct CommandFailure: Error {
    /// EX_UNAVAILABLE of sysexits.h: a needed service is out of reach, or the schema is missing or too old.
    static let unavailable: Int32 = 69
    static let wrongSettings: Int32 = 78

    let message: String
    let code: Int32

    init(_ message: String, code: Int32) {
        self.message = message
        self.code = code
    }
}

/// Runs a command's body and turns what it throws into a message and an exit code.
func reporting(_ body: () async throws -> Void) async throws {
    do {
        try await body()
    } catch let failure as CommandFailure {
        printError(failure.message)
        throw ExitCode(failure.code)
    } catch let faults as SettingsFaults {
        printError(faults.description)
        throw ExitCode(SettingsFaults.exitCode)
    } catch let error as OperationsServerError {
        printError(error.description)
        // Another address or right is needed than the settings name.
        throw ExitCode(error.isPortTaken ? CommandFailure.unavailable : CommandFailure.wrongSettings)
    } catch let code as ExitCode {
        throw code
    } catch {
        printError("\(error)")
        throw ExitCode(1)
    }
}

func printError(_ text: String) {
    FileHandle.standardError.write(Data((text + "\n").utf8))
}
