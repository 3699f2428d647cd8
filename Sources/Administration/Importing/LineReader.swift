import Foundation

/// Reads a file of any size line by line. Its functions block the thread.
package struct LineReader: ~Copyable {
    /// The most bytes of a line. A longer line is skipped, and returned as `tooLong`.
    static let maximumBytes = 65_536
    private static let chunk = 1 << 18

    package enum Line {
        case bytes([UInt8])
        case tooLong
    }

    /// The size of the whole file in bytes; 0 if it is unknown.
    package let size: Int
    private let file: UnsafeMutablePointer<FILE>
    private var buffer: [UInt8] = []
    private var next = 0
    private var isAtEnd = false
    /// The number of bytes read so far.
    package private(set) var position = 0

    /// Returns nil if the file cannot be opened. `errno` then says why.
    package init?(_ path: String) {
        guard let file = fopen(path, "rb") else { return nil }
        self.file = file
        size = fseek(file, 0, SEEK_END) == 0 ? max(0, ftell(file)) : 0
        rewind(file)
    }

    deinit { fclose(file) }

    /// Returns the next line without its line break; nil at the end.
    package mutating func line() -> Line? {
        var line: [UInt8] = []
        var isTooLong = false
        while true {
            if next == buffer.count, !fill() {
                if line.isEmpty, !isTooLong { return nil }
                return isTooLong ? .tooLong : .bytes(line)
            }
            let end = buffer[next...].firstIndex(of: UInt8(ascii: "\n"))
            let part = buffer[next..<(end ?? buffer.count)]
            if line.count + part.count > Self.maximumBytes { isTooLong = true } else { line += part }
            position += part.count
            next += part.count
            if end != nil {
                position += 1
                next += 1
                if line.last == UInt8(ascii: "\r") { line.removeLast() }
                return isTooLong ? .tooLong : .bytes(line)
            }
        }
    }

    /// True if an error stopped the reading before the end of the file.
    package var hasFailed: Bool { ferror(file) != 0 }

    private mutating func fill() -> Bool {
        guard !isAtEnd else { return false }
        buffer = [UInt8](unsafeUninitializedCapacity: Self.chunk) { target, count in
            count = fread(target.baseAddress, 1, Self.chunk, file)
        }
        next = 0
        isAtEnd = buffer.count < Self.chunk
        return !buffer.isEmpty
    }
}
