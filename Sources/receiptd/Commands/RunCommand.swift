import ArgumentParser
import CMalloc
import Logging
import Monitoring
import Operations
import ReceiptdConfiguration

struct RunCommand: OperatorCommand {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Runs the worker, until SIGTERM or SIGINT.")

    private static let arenas: Int32 = 4
    /// glibc returns freed allocations of this size or more to the system. `trimThreshold` is for the heap's free end.
    private static let mapThreshold: Int32 = 128 * 1024
    private static let trimThreshold: Int32 = 1024 * 1024

    static let requirements: Set<Settings.Requirement> = [.kafka, .database]
    /// The set is empty, because the command logs the warnings.
    static let told: Set<SettingsWarning.Kind> = []

    @OptionGroup var options: SettingsOptions

    func run(_ settings: Settings) async throws {
        // glibc's default is an arena for each thread, most half empty. With two arenas, threads wait for each other.
        mallopt(M_ARENA_MAX, Self.arenas)
        // By default glibc keeps the memory of a backlog. With these thresholds it returns the memory of large fetches.
        mallopt(M_MMAP_THRESHOLD, Self.mapThreshold)
        mallopt(M_TRIM_THRESHOLD, Self.trimThreshold)
        let logger = settings.log.makeLogger()
        for (name, value) in settings.redactedSummary {
            logger.debug("setting", [.setting: "\(name)", .value: "\(value)"])
        }
        settings.tellWarnings(logger)
        try await WorkerRunner(settings: settings, secrets: options.secrets, logger: logger).run()
    }
}
