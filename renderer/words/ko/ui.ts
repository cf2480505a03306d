import type en from '../en/ui.ts'
import { type Translation } from '../message-types.ts'

export default {
  cancel: '취소',
  close: '닫기',
  copied: '복사함',
  copy: '복사',
  download: '다운로드',
  language: '언어',
  languageSystem: '시스템 설정',
  loading: '불러오는 중…',
  remove: '제거',
  save: '저장',
  time: '시각',
  tryAgain: '다시 시도',
  continue: '계속',

  days: '{count, number}일',
  hours: '{count, number}시간',
  minutes: '{count, number}분',
  seconds: '{count, number}초',
} satisfies Translation<typeof en>
