import ArgumentParser
import Foundation
import Ledger
import Postgres

struct MigrateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate", abstract: "Applies the schema to DATABASE_URL. Any number of times.")

    @OptionGroup var options: SettingsOptions

    func run() async throws {
        try await reporting {
            let settings = try options.read(requiring: [.database])
            try await withDatabase(settings) { pool in
                let found = try await migrate(pool)
                print(Self.text(found))
            }
        }
    }

    private func migrate(_ pool: PostgresPool) async throws -> Schema.State {
        do {
            return try await pool.run { session in
                try Schema.migrate(session) { line in
                    FileHandle.standardError.write(Data("\(line)\n".utf8))
                }
            }
        } catch let error as PostgresError where error.sqlState == "55P03" {
            throw CommandFailure("\(error.message); nothing was changed", code: CommandFailure.unavailable)
        }
    }

    /// By what was found there.
    private static func text(_ found: Schema.State) -> String {
        switch found {
        case .current: "schema \(Schema.currentVersion) was in place already: nothing was changed"
        case .newer(let version): "the schema is a later one, version \(version): nothing was changed"
        case .missing: "schema \(Schema.currentVersion) is in place"
        case .tooOld(let version, _): "schema \(Schema.currentVersion) is in place, in place of version \(version)"
        }
    }
}

/// Opens the database for one command. Out of reach is exit 69; a refusal that only other settings or rights end is 78.
/// - Parameter sessions: at most so many at a time.
func withDatabase<Value>(
    _ settings: Settings, sessions: Int = 1, _ body: (PostgresPool) async throws -> Value
) async throws -> Value {
    let pool = PostgresPool(configuration: settings.database.configuration, size: sessions)
    do {
        let value = try await body(pool)
        await pool.close()
        return value
    } catch let error as PostgresError {
        await pool.close()
        throw CommandFailure(error)
    } catch let error as UnsuitableDatabase {
        await pool.close()
        throw CommandFailure(error.description, code: CommandFailure.wrongSettings)
    } catch {
        await pool.close()
        throw error
    }
}

/// Exit 69 where the schema is not what this program needs, and 78 where no schema could mend it.
func requireSchema(_ pool: PostgresPool) async throws {
    try await pool.run { try DatabaseEncoding.require(in: $0) }
    if let reason = try await pool.run({ try Schema.check($0) }).unreadiness {
        throw CommandFailure(reason, code: CommandFailure.unavailable)
    }
}
