import type en from '../en/charts.ts'
import { type Translation } from '../message-types.ts'

export default {
  charts: '차트',
  chartRange: '기간',
  chartHour: '1시간',
  chartDay: '24시간',
  chartWeek: '7일',
  chartAsTable: '표로 보기',
  chartAsChart: '차트로 보기',
  chartLoading: '사용량을 불러오는 중',
  chartNone: '이 기간의 기록이 없습니다',
  chartNoneWhy: '기록은 7일 동안 보관됩니다. 방금 시작한 세션은 1분 뒤에 첫 기록이 나타납니다.',
  chartCpu: 'CPU 코어',
  chartMemory: '메모리',
  chartGpu: 'GPU 사용률',
  chartGpuMemory: 'GPU 메모리',
  chartDisk: '디스크',
  chartNetwork: '네트워크',
  chartUsed: '사용',
  chartWholeGpu: 'GPU 전체, 모든 세션',
  chartRequested: '요청',
  chartRead: '읽기',
  chartWritten: '쓰기',
  chartReceived: '수신',
  chartSent: '송신',
} satisfies Translation<typeof en>
