import type en from '../en/logs.ts'
import { type Translation } from '../message-types.ts'

export default {
  logs: '로그',
  none: '선택한 세션이 없습니다',
  noneText: '목록에서 세션을 선택한 다음 로그를 누르세요.',
  toSessions: '세션 목록으로',
  search: '모든 로그에서 검색',
  follow: '따라가기',
  view: '보기',
  columns: '나란히',
  together: '시간순',
  hits: '{count}개 일치',
  logOf: '{name} 세션의 로그',
  logsByTime: '시간순 로그',
  loading: '로그를 불러오는 중',
  noOutput: '출력이 없습니다',
  sessionTabs: '세션',
  remove: '이 페이지에서 {name} 세션 제거',
  noTimes: '종료된 세션의 보관된 로그에는 시간이 없어 맨 앞에 표시됩니다.',
} satisfies Translation<typeof en>
