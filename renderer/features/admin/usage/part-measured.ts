import { type UsageReport } from '#manager/contract'
import { formatAmount } from '../../../ui/format.ts'
import { t } from '../../../words/en/admin-usage.ts'

/** Sessions have no figures in their first seconds, so a little is always missing. */
const NEARLY_ALL = 0.99

/**
 * Says that only a part of the GPU-hours was measured, so the waste is that of this part; empty if nothing or nearly all was measured, or if
 * both numbers look the same.
 */
export function partMeasured({
  gpuHours,
  gpuMeasuredHours,
}: Pick<UsageReport['sums'], 'gpuHours' | 'gpuMeasuredHours'>): string {
  if (gpuMeasuredHours <= 0 || gpuMeasuredHours >= gpuHours * NEARLY_ALL) return ''
  const [measured, all] = [formatAmount(gpuMeasuredHours), formatAmount(gpuHours)]
  return measured === all ? '' : t('partMeasured', { measured, all })
}
