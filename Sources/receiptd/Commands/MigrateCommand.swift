import Administration
import ArgumentParser
import Foundation
import Ledger
import Postgres
import ReceiptdConfiguration

struct MigrateCommand: OperatorCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate", abstract: "Creates or updates the tables in DATABASE_URL. May be repeated.")

    static let requirements: Set<Settings.Requirement> = [.database]

    @OptionGroup var options: SettingsOptions

    func run(_ settings: Settings) async throws {
        try await withDatabase(settings.database) { pool in
            print(Self.text(try await SchemaMigration.run(in: pool) { printError($0) }))
        }
    }

    /// Describes the state that was found.
    private static func text(_ found: Schema.State) -> String {
        switch found {
        case .current: "schema \(Schema.currentVersion) was in place already: nothing was changed"
        case .newer(let version): "the schema is a later one, version \(version): nothing was changed"
        case .missing: "schema \(Schema.currentVersion) is in place"
        case .tooOld(let version, _): "schema \(Schema.currentVersion) is in place, in place of version \(version)"
        }
    }
}
