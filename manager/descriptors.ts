/**
 * Descriptors (files, sockets) that this process may open at a time. Node raises the soft limit to the hard one when it starts.
 *
 * @returns Infinity where the system names no limit, as on Windows
 */
export function descriptorLimit(): number {
  // The report would look up the names of all peers otherwise. The types of Node do not have this property yet.
  Object.assign(process.report, { excludeNetwork: true })
  const { userLimits } = process.report.getReport() as {
    readonly userLimits?: { readonly open_files?: { readonly soft: number | 'unlimited' } }
  }
  const limit = userLimits?.open_files?.soft
  return typeof limit === 'number' ? limit : Infinity
}
