import type en from '../en/sessions-csv.ts'
import { type Translation } from '../message-types.ts'

export default {
  csvName: '이름',
  csvStatus: '상태',
  csvReason: '사유',
  csvImage: '이미지',
  csvProject: '프로젝트',
  csvOwner: '소유자',
  csvCpu: 'CPU 코어',
  csvMemory: 'RAM (바이트)',
  csvGpu: 'GPU',
  csvCreated: '요청',
  csvStarted: '시작',
  csvEnded: '종료',
  csvCpuSeconds: 'CPU 시간 (초)',
  csvGpuSeconds: 'GPU 시간 (초)',
  csvTags: '태그',
  csvNote: '메모',
  csvId: 'ID',
  exportFailed: '일부 세션을 불러오지 못해 파일을 만들지 않았습니다.',
} satisfies Translation<typeof en>
