import type en from '../en/statistics.ts'
import { type Translation } from '../message-types.ts'

export default {
  statistics: '통계',
  whose: '세션 범위',
  mine: '내 세션',
  project: '{name} 프로젝트',
  all: '모든 세션',
  period: '기간 단위',
  days: '일별',
  weeks: '주별',
  asTable: '표로 보기',
  asChart: '차트로 보기',
  exportCsv: 'CSV로 내보내기',
  loading: '통계를 불러오는 중',
  none: '이 기간에 실행된 세션이 없습니다',
  noneText: '세션이 차지한 자원을 일별 또는 주별로 보여 줍니다.',
  sessions: '세션',
  cpuHours: 'CPU 코어-시간',
  memHours: '메모리 GiB-시간',
  gpuHours: 'GPU-시간',
  idle: '유휴 CPU',
  idleGpu: '유휴 GPU',
  idleMemory: '유휴 메모리',
  disks: '디스크',
  network: '네트워크',
  read: '읽음',
  written: '씀',
  received: '받음',
  sent: '보냄',
  idleShare: '사용하지 않은 비율',
  held: '할당',
  begin: '시작',
  totals:
    '가장 많을 때 {sessions, plural, other {세션 #개}} · {cpu} 코어-시간 · {gpu, select, 0 {GPU 없음} other {{gpu} GPU-시간}}',
  howCounted:
    '세션은 실행되는 동안 차지한 자원을 사용 여부와 관계없이 모두 셉니다. 유휴 CPU와 유휴 GPU는 이를 실제 사용량과 비교합니다. 사용량과 읽고 보낸 양은 세션의 실행 시간에 고르게 나누어 셉니다.',
} satisfies Translation<typeof en>
