import Administration
import ArgumentParser
import BackOffice
import ReceiptdConfiguration

struct ReconcileCommand: OperatorCommand {
    static let configuration = CommandConfiguration(
        commandName: "reconcile", abstract: "Compares grants with Apple's Summary Sales report.",
        discussion: """
            Reads tab-separated reports of App Store Connect, plain or gzip, and adds several reports together. \
            Compares in-app purchases by product (SKU) and day, or by the week or month of a longer report. Shows \
            money if prices are known; money does not change the exit code. Exits with 0 if all units agree, with 1 if \
            some differ or a report cannot be read.
            """)

    @Option(
        name: .customLong("report"),
        help: "A Summary Sales report, plain or gzip; /dev/stdin for standard input. Give --report once for each file.")
    var reports: [String]
    @Option(help: "The time zone of the report's days.") var timeZone = "America/Los_Angeles"
    @Option(help: "Compare only this app's grants. Use this if the report has only this app's products.")
    var bundle: String?
    @Flag(help: "Also show products that agree.") var all = false
    @Flag(help: "Print one JSON document on standard output.") var json = false
    @OptionGroup var options: SettingsOptions

    static let requirements: Set<Settings.Requirement> = [.database]

    func validate() throws {
        if reports.isEmpty { throw ValidationError("Name a report with --report.") }
    }

    func run(_ settings: Settings) async throws {
        guard let sales = try readAll(), let first = sales.periods.first?.first, let last = sales.periods.last?.last
        else { return }
        let granted = try await withSchema(settings.database) { pool in
            guard try await GrantedUnits.isKnown(timeZone: timeZone, in: pool) else {
                throw CommandFailure("--time-zone \(ShownText.quoted(timeZone)): PostgreSQL does not know it", code: 64)
            }
            return try await GrantedUnits.of(first...last, timeZone: timeZone, bundleID: bundle, in: pool)
        }
        let reconciliation = Reconciliation(sales, granted)
        print(
            json
                ? ReconciliationText.json(reconciliation, timeZone: timeZone)
                : ReconciliationText.tables(reconciliation, all: all, width: Terminal.outputWidth))
        if !reconciliation.differences.isEmpty { throw ExitCode(1) }
    }

    /// Reads all reports into one; nil if there is none. This function is not inlined: the optimizer of Swift 6.3
    /// crashes on a typed throw that is inlined into an asynchronous function.
    @inline(never)
    private func readAll() throws -> SalesReport? {
        var sales: SalesReport?
        for report in reports {
            let next = try Self.read(report)
            do throws(SalesReport.Faults) {
                if sales == nil { sales = next } else { try sales?.add(next) }
            } catch {
                throw Self.failure(report, error)
            }
        }
        return sales
    }

    private static func failure(_ report: String, _ faults: SalesReport.Faults) -> CommandFailure {
        CommandFailure(faults.messages.map { "\(report): \($0)" }.joined(separator: "\n"), code: 1)
    }

    /// Reads one report. This function is not inlined, for the reason at `readAll`.
    @inline(never)
    private static func read(_ report: String) throws -> SalesReport {
        let bytes: [UInt8]
        do throws(BoundedFile.Fault) {
            bytes = try BoundedFile.read(report, limit: SalesReport.maximumBytes)
        } catch {
            throw CommandFailure("\(report): \(error.message)", code: 1)
        }
        do throws(SalesReport.Faults) {
            return try SalesReport(bytes)
        } catch {
            throw failure(report, error)
        }
    }
}
