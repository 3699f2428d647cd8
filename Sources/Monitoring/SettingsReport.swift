import Logging
import Operations
import ReceiptdConfiguration

/// Reports a process's settings at its start.
extension Settings {
    package func tellWarnings(_ logger: Logger) {
        for warning in warnings {
            logger.warning(
                "a setting looks mistaken", [.setting: "\(warning.setting)", .detail: "\(warning.message)"])
        }
    }

    /// Logs and counts trusted root certificates that are not Apple's, because the owner of such a root can make
    /// receipts.
    package func tellForeignRoots(_ metrics: ReceiptdMetrics, _ logger: Logger) {
        metrics.foreignRoots.set(apple.foreignRoots)
        guard apple.foreignRoots > 0 else { return }
        logger.warning(
            "this process trusts roots that are not Apple's: their owners can make receipts",
            [
                .setting: "\(SettingName.appleRootCertificatesFile.rawValue)",
                .count: .stringConvertible(apple.foreignRoots),
            ])
    }
}
