import Administration
import ArgumentParser
import Foundation
import Ledger
import Postgres
import ReceiptdConfiguration

struct MigrateCommand: OperatorCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract: "Creates or updates the tables in DATABASE_URL. You may run the command again.")

    static let requirements: Set<Settings.Requirement> = [.database]

    @OptionGroup var options: SettingsOptions

    func run(_ settings: Settings) async throws {
        try await withDatabase(settings.database) { pool in
            print(Self.text(try await SchemaMigration.run(in: pool) { printError($0) }))
        }
    }

    /// Returns a sentence about the state of the schema before the migration.
    private static func text(_ found: Schema.State) -> String {
        switch found {
        case .current: "the schema already has version \(Schema.currentVersion): nothing was changed"
        case .newer(let version):
            "the schema has version \(version), which is newer than this release: nothing was changed"
        case .missing: "created the schema, version \(Schema.currentVersion)"
        case .tooOld(let version, _): "migrated the schema from version \(version) to version \(Schema.currentVersion)"
        }
    }
}
