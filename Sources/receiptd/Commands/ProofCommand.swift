import Administration
import AppleProofs
import ArgumentParser
import Fulfillment
import NamesAndTimes
import ReceiptdConfiguration

/// Prints the content of a proof.
struct ProofCommand: OperatorCommand {
    static let configuration = CommandConfiguration(
        commandName: "proof",
        abstract: "Shows what a receipt, JWS, Unity envelope or notification is, and whether Apple signed it.",
        discussion: """
            Works offline, without Kafka, a database or Apple. Exits with 0 if the proof can be read and is not forged, \
            else with 1.
            """)

    static let requirements: Set<Settings.Requirement> = []

    @Argument(help: "A file, or - for standard input.") var file: String
    @Option(help: ArgumentHelp("A YAML catalog. Also show what receiptd would decide with it.", valueName: "file"))
    var catalog: String?
    @Option(help: "The bundle_id that the game server would send. Default: the catalog's only app.")
    var bundle: String?
    @Flag(help: "Print one JSON document on standard output.") var json = false
    @Flag(help: "Print account tokens too.") var showTokens = false
    @OptionGroup var options: SettingsOptions

    func run(_ settings: Settings) async throws {
        let reader = ProofReader(roots: settings.apple.roots)
        let examined = reader.examine(try ProofFile.read(file))
        let verdict = try catalog.map { path in
            ProofVerdict(
                on: examined, by: reader, catalog: try CatalogDocument(file: path).catalog,
                bundleID: bundle.map { BundleID($0) }, now: WallClock.now)
        }
        let report = ProofReport(examined, verdict: verdict, showingTokens: showTokens)
        print(json ? report.json : report.text(width: Terminal.outputWidth))
        if report.exitCode != 0 { throw ExitCode(report.exitCode) }
    }
}
