import Foundation

/// The fuzzer that comes with the toolchain, as a library.
enum LibFuzzer {
    /// Set once before the first input; libFuzzer calls back on the thread that runs it.
    nonisolated(unsafe) private static var check: @Sendable ([UInt8]) -> Void = { _ in }

    /// Runs with the program's own arguments until they say that it is enough. The exit code is the fuzzer's.
    static func run(_ target: FuzzTarget) -> Int32 {
        check = target.check
        var count = CommandLine.argc
        var arguments = CommandLine.unsafeArgv
        return driver(&count, &arguments) { bytes, size in
            LibFuzzer.check(Array(UnsafeBufferPointer(start: bytes, count: size)))
            return 0
        }
    }

    private typealias Input = @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32
    private typealias Arguments = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>

    #if Fuzzing
        @_silgen_name("LLVMFuzzerRunDriver")
        private static func driver(
            _ count: UnsafeMutablePointer<Int32>, _ arguments: UnsafeMutablePointer<Arguments>, _ input: Input
        ) -> Int32
    #else
        /// Without the trait there is no fuzzer to link with; the rest is compiled as everything else is.
        private static func driver(
            _ count: UnsafeMutablePointer<Int32>, _ arguments: UnsafeMutablePointer<Arguments>, _ input: Input
        ) -> Int32 {
            FileHandle.standardError.write(Data("Fuzz: built without the trait Fuzzing, see scripts/fuzz.sh\n".utf8))
            return EX_UNAVAILABLE
        }
    #endif
}
