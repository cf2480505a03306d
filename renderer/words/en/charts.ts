import { defineWords } from '../i18n.ts'

const en = {
  charts: 'Charts',
  chartRange: 'Time range',
  chartOf: 'Figures of container',
  chartAllContainers: 'All containers',
  chartHour: '1 hour',
  chartDay: '24 hours',
  chartWeek: '7 days',
  chartAsTable: 'Show as table',
  chartAsChart: 'Show as chart',
  chartLoading: 'Loading the figures',
  chartNone: 'No figures for this time',
  chartNoneWhy: 'Figures are kept for 7 days. A session that has just started has its first ones after a minute.',
  chartCpu: 'CPU cores',
  chartMemory: 'Memory',
  chartGpu: 'GPU use',
  chartGpuMemory: 'GPU memory',
  chartDisk: 'Disk',
  chartNetwork: 'Network',
  chartUsed: 'Used',
  chartWholeGpu: 'Whole GPU, all sessions',
  chartRequested: 'Requested',
  chartRead: 'Read',
  chartWritten: 'Written',
  chartReceived: 'Received',
  chartSent: 'Sent',
} as const

export default en
export const t = defineWords('charts', en)
