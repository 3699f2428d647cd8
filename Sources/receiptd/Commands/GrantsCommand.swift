import Administration
import ArgumentParser
import BackOffice
import Foundation
import Fulfillment
import Ledger
import NamesAndTimes
import Postgres
import ReceiptdConfiguration

struct GrantsCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "grants", abstract: "Imports, revokes and reinstates grants.",
        subcommands: [Import.self, Revoke.self, Reinstate.self])

    struct Import: DatabaseCommand {
        static let configuration = CommandConfiguration(
            commandName: "import",
            abstract: """
                Imports purchases that an earlier system delivered. Publishes no events. You may repeat the import.
                """,
            discussion: """
                The file is CSV with a header, or JSON lines. Required: transaction_id, player_id, bundle_id and \
                product_id. Optional: original_transaction_id, quantity, environment, purchased_at, expires_at, \
                revoked_at, granted_at and submission_id. A transaction id is digits without a leading zero. No id begins \
                or ends with white space. The import reports and skips faulty lines, and then exits with 1.
                """)
        /// The most faulty lines that standard error shows. The report counts the other faulty lines.
        static let maximumTold = 1_000

        @Argument(help: "A CSV file with a header, or JSON lines.") var file: String
        @Flag(help: "Count the grants, name the faulty lines, and import nothing.") var dryRun = false
        @OptionGroup var options: SettingsOptions

        func run(_ settings: Settings, in pool: PostgresPool) async throws {
            var apps = UnknownApps(catalog: try await GrantsCommand.catalog(in: CatalogStore(pool: pool)))
            let report = try await enter(into: GrantImport(pool: pool), &apps)
            for warning in apps.warnings { printError(warning) }
            print(report.summary)
            if report.skipped > 0 { throw ExitCode(1) }
        }

        private func enter(into database: GrantImport, _ apps: inout UnknownApps) async throws -> ImportReport {
            guard var lines = LineReader(file) else {
                throw CommandFailure("\(file): cannot be read: \(String(cString: strerror(errno)))", code: 1)
            }
            var rows = GrantFile(now: WallClock.now)
            var report = ImportReport(maximumTold: Self.maximumTold, isDryRun: dryRun)
            var progress = ProgressBar(dryRun ? "checking" : "importing")
            var batch: [ImportedGrant] = []
            while let line = lines.line() {
                switch try row(of: line, in: &rows) {
                case .nothing: continue
                case .fault(let message): report.skip(rows.line, message)
                case .grant(let grant):
                    apps.note(grant)
                    batch.append(grant)
                }
                if batch.count == GrantImport.batch {
                    try await enter(&batch, into: database, &report)
                    progress.show(lines.position, of: max(lines.size, lines.position), count: rows.line)
                }
            }
            try await enter(&batch, into: database, &report)
            progress.show(lines.position, of: lines.position, count: rows.line)
            progress.end()
            if lines.hasFailed { throw CommandFailure("\(file): reading failed after line \(rows.line)", code: 1) }
            if !rows.ignored.isEmpty {
                printError("ignored columns: \(rows.ignored.map { ShownText.quoted($0) }.joined(separator: ", "))")
            }
            return report
        }

        /// Returns the row of a line. This function is not inlined: the optimizer of Swift 6.3 crashes on a typed throw
        /// that is inlined into an asynchronous function.
        @inline(never)
        private func row(of line: LineReader.Line, in rows: inout GrantFile) throws -> GrantFile.Row {
            do throws(GrantFile.Unreadable) {
                return try rows.read(line)
            } catch {
                throw CommandFailure("\(file): \(error.message)", code: 1)
            }
        }

        private func enter(
            _ batch: inout [ImportedGrant], into database: GrantImport, _ report: inout ImportReport
        ) async throws {
            let entered = try await database.enter(batch, dryRun: dryRun)
            report.note(entered, of: batch.count)
            batch.removeAll(keepingCapacity: true)
        }
    }

    static func catalog(in store: CatalogStore) async throws -> Catalog {
        if let catalog = try await StoredCatalog.latest(in: store) { return catalog }
        printError("warning: no catalog was imported yet, so every app is unknown")
        return Catalog(version: 0, apps: [])
    }
}

/// Counts the lines of an imported file by their result.
struct ImportReport {
    let maximumTold: Int
    let isDryRun: Bool
    private(set) var entered = 0
    private(set) var known = 0
    private(set) var skipped = 0

    init(maximumTold: Int, isDryRun: Bool) {
        self.maximumTold = maximumTold
        self.isDryRun = isDryRun
    }

    mutating func skip(_ line: Int, _ reason: String) {
        skipped += 1
        if skipped <= maximumTold { printError("line \(line): \(reason)") }
    }

    mutating func note(_ result: GrantImport.Entered, of count: Int) {
        for line in result.conflicts { skip(line, "the transaction is another player's") }
        entered += result.entered
        known += count - result.entered - result.conflicts.count
    }

    var summary: String {
        var parts = [isDryRun ? "\(entered) would be entered" : "\(entered) entered", "\(known) were there before"]
        if isDryRun { parts.append("nothing was done") }
        if skipped > 0 {
            parts.append("\(skipped) skipped" + (skipped > maximumTold ? ", not all of them named above" : ""))
        }
        return parts.joined(separator: "; ")
    }
}
