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
    /// Bytes from which an allocation goes back to the system when it is freed, and of free memory at the heap's end.
    private static let mapThreshold: Int32 = 128 * 1024
    private static let trimThreshold: Int32 = 1024 * 1024

    static let requirements: Set<Settings.Requirement> = [.kafka, .database]
    /// Warnings go to the log.
    static let told: Set<SettingsWarning.Kind> = []

    @OptionGroup var options: SettingsOptions

    func run(_ settings: Settings) async throws {
        // glibc would keep an arena for each thread, most of them half empty; with two, threads wait for one another.
        mallopt(M_ARENA_MAX, Self.arenas)
        // The allocator would also keep a backlog's memory: freed fetches of megabytes go back to the system at once.
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
