import type en from '../en/usage.ts'
import { type Translation } from '../message-types.ts'

export default {
  title: '사용량과 한도',
  noHost: '연결된 호스트가 없습니다',
  hostsLost: '호스트 {all}대 중 {lost}대의 연결이 끊김',
  usage: '사용량',
  sessions: '세션',
  running: '{count, number}개 실행 중',
  holdLimited: '{label}: 내 한도 대비 {amount} 사용 중.',
  holdUnlimited: '{label}: {amount} 사용 중, 개인 한도 없음.',
  inProject: '{project} 프로젝트: {amount}.',
  together: '전체 사용자: {amount}.',
  togetherInGroup: '{group} 자원 그룹의 전체 사용자: {amount}.',
} satisfies Translation<typeof en>
