import Foundation

/// The processor seconds and the memory of a process, as the kernel counts them.
struct ProcessUsage {
    var cpuSeconds: Double
    /// The peak resident memory in bytes.
    var peakMemory: Int
    /// The present resident memory in bytes.
    var memory: Int

    /// Returns nil if the process has ended.
    init?(processID: Int32) {
        guard let fields = Self.statFields(processID),
            let status = try? String(contentsOfFile: "/proc/\(processID)/status", encoding: .utf8)
        else { return nil }
        // Fields 14 and 15 of proc(5). The count starts after the command's name, which may contain spaces.
        let ticks = (Double(fields[11]) ?? 0) + (Double(fields[12]) ?? 0)
        cpuSeconds = ticks / Double(sysconf(Int32(_SC_CLK_TCK)))
        func bytes(_ name: String) -> Int {
            let line = status.split(separator: "\n").first { $0.hasPrefix(name) }
            return (line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) } ?? 0) * 1024
        }
        peakMemory = bytes("VmHWM:")
        memory = bytes("VmRSS:")
    }

    /// Returns the processor seconds of a process and of all its children, ended children included.
    static func treeSeconds(processID: Int32) -> Double {
        let ticks = Double(sysconf(Int32(_SC_CLK_TCK)))
        guard let fields = statFields(processID) else { return 0 }
        let own = fields[11...14].reduce(0) { $0 + (Double($1) ?? 0) } / ticks
        return children(of: processID).reduce(own) { $0 + treeSeconds(processID: $1) }
    }

    private static func children(of processID: Int32) -> [Int32] {
        let text = try? String(contentsOfFile: "/proc/\(processID)/task/\(processID)/children", encoding: .utf8)
        return text?.split(separator: " ").compactMap { Int32($0) } ?? []
    }

    private static func statFields(_ processID: Int32) -> [Substring]? {
        guard let text = try? String(contentsOfFile: "/proc/\(processID)/stat", encoding: .utf8),
            let end = text.lastIndex(of: ")")
        else { return nil }
        let fields = text[text.index(after: end)...].split(separator: " ")
        return fields.count > 14 ? fields : nil
    }
}
