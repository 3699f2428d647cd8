import Glibc
import Monitoring
import Testing

@Suite("The program's pages")
struct ProgramPagesTests {
    /// Of glibc, and used by debuggers only: nobody else in this process runs it.
    private static let library = "libthread_db.so.1"

    /// Returns the resident KiB of the library's code.
    private static func residentKiB() throws -> Int {
        // The kernel gives a few KiB at a time, which Foundation takes for the whole.
        let file = try #require(fopen("/proc/self/smaps", "r"))
        defer { fclose(file) }
        var lines: [String] = []
        var buffer = [CChar](repeating: 0, count: 4096)
        while fgets(&buffer, Int32(buffer.count), file) != nil {
            lines.append(
                String(decoding: buffer.prefix { $0 != 0 && $0 != 10 }.map { UInt8(bitPattern: $0) }, as: UTF8.self))
        }
        let start = try #require(lines.firstIndex { $0.hasSuffix(library) && $0.contains(" r-xp ") })
        let resident = try #require(lines[start...].first { $0.hasPrefix("Rss:") })
        return try #require(resident.split(separator: " ").dropFirst().first.flatMap { Int($0) })
    }

    @Test("code that ran is no longer in the process's memory once it was given back, and runs again as before")
    func release() throws {
        let handle = try #require(dlopen(Self.library, RTLD_LAZY))
        defer { dlclose(handle) }
        let symbol = try #require(dlsym(handle, "td_init"))
        let run = unsafeBitCast(symbol, to: (@convention(c) () -> Int32).self)
        #expect(run() == 0)
        let before = try Self.residentKiB()
        #expect(ProgramPages.release() > 1)
        // A page that is the segment's in part only is left.
        let after = try Self.residentKiB()
        #expect(after < before)
        #expect(run() == 0)
        #expect(try Self.residentKiB() > after)
    }
}
