import Foundation

/// The standard `process_` metrics, read from Linux's `/proc` at each scrape (`man 5 proc_pid_stat`). On other systems
/// they stay 0.
enum ProcessMetrics {
    static func declare(in registry: MetricsRegistry) {
        let memory = registry.gauge("process_resident_memory_bytes", help: "Resident memory, in bytes.").with()
        let processor = registry.copiedCounter(
            "process_cpu_seconds_total", help: "Processor time, user and system, in seconds."
        ).with()
        let start = registry.gauge(
            "process_start_time_seconds", help: "Start of the process since the epoch, in seconds."
        ).with()
        let descriptors = registry.gauge("process_open_fds", help: "File descriptors that are open.").with()
        let allowed = registry.gauge("process_max_fds", help: "File descriptors that may be open.").with()
        let bootTime = read("/proc/stat").flatMap(bootTime(in:))
        registry.onScrape {
            // Listing the folder opens a descriptor, which must not count.
            if let open = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count {
                descriptors.set(Double(open - 1))
            }
            if let most = read("/proc/self/limits").flatMap(mostDescriptors(in:)) { allowed.set(most) }
            guard let text = read("/proc/self/stat"), let stat = Stat(text) else { return }
            let ticksPerSecond = Double(max(1, sysconf(Int32(_SC_CLK_TCK))))
            memory.set(Double(stat.residentPages) * Double(sysconf(Int32(_SC_PAGESIZE))))
            processor.set(Double(stat.userTicks + stat.systemTicks) / ticksPerSecond)
            if let bootTime { start.set(bootTime + Double(stat.startTicks) / ticksPerSecond) }
        }
    }

    struct Stat: Equatable {
        var userTicks: UInt64
        var systemTicks: UInt64
        /// The start of the process, in ticks since the start of the machine.
        var startTicks: UInt64
        var residentPages: UInt64

        init?(_ text: String) {
            // The second field is the program's name in parentheses. The name may contain spaces and parentheses.
            guard let nameEnd = text.lastIndex(of: ")") else { return nil }
            let fields = text[text.index(after: nameEnd)...].split(whereSeparator: \.isWhitespace)
            // fields[0] is field 3 of the manual page.
            func field(_ number: Int) -> UInt64? {
                fields.indices.contains(number - 3) ? UInt64(fields[number - 3]) : nil
            }
            guard let user = field(14), let system = field(15), let start = field(22), let pages = field(24)
            else { return nil }
            userTicks = user
            systemTicks = system
            startTicks = start
            residentPages = pages
        }
    }

    /// Returns the start of the machine in seconds since 1970, from `/proc/stat`; nil if the text does not have it.
    static func bootTime(in text: String) -> Double? {
        for line in text.split(separator: "\n") where line.hasPrefix("btime ") {
            return Double(line.dropFirst("btime ".count))
        }
        return nil
    }

    /// Returns the soft limit on open files, from `/proc/self/limits`; nil if the text does not have it.
    static func mostDescriptors(in text: String) -> Double? {
        let name = "Max open files"
        let line = text.split(separator: "\n").first { $0.hasPrefix(name) }
        return line?.dropFirst(name.count).split(separator: " ").first.flatMap { Double($0) }
    }

    private static func read(_ path: String) -> String? {
        FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
    }
}
