import { type Reporter, type ReporterDeps, reportRegularly } from '../report-regularly.ts'
import { type CertificateKeeper, reportOf } from './keeper.ts'

/** Tells the manager which certificate the console presents. The manager notifies superadmins of problems. */
export function reportCertificate(certificate: CertificateKeeper, deps: ReporterDeps): Reporter {
  const reporter = reportRegularly(deps, 'certificate', (api, params, signal) =>
    api.reportCertificate({ params, body: reportOf(certificate), signal }),
  )
  certificate.onChange(() => reporter.report())
  return reporter
}
